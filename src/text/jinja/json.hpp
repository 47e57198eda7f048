// JSON text and nlohmann's documents to template values and back; key order and large integers survive.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

#include "text/jinja/value.hpp"

namespace redline::text::jinja {

// Throws BadInput with the reason and position; the caller knows what the text was and says so.
Value parse_json(std::string_view text);

Value from_json(const nlohmann::json& document);
Value from_json(const nlohmann::ordered_json& document);
nlohmann::ordered_json to_json(
    const Value& value);  // throws BadInput for what JSON cannot say (undefined, functions)

}  // namespace redline::text::jinja
