// One request on one session, token by token, with or without the draft head. Greedy drafts are verified by
// drawing each row's own token with the random number of (seed, position): a draft that equals it is
// accepted, so a seed gives the same text with drafts on or off.
#pragma once

#include <functional>

#include "runtime/request.hpp"
#include "runtime/session.hpp"

namespace redline::runtime {

// Called with each token as soon as it stands; false ends the answer after it.
using OnToken = std::function<bool(std::int32_t)>;

// Continues `session`, which may already hold the beginning of a conversation: `request.prompt` is what comes
// behind it. Penalties count the tokens of this answer only. BadInput where the prompt is empty, has ids that
// the model does not know, or does not fit; where drafts are asked of a model without a draft head.
Answer generate(Session& session, const Request& request, const OnToken& on_token);

}  // namespace redline::runtime
