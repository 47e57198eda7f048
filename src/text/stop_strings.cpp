// placeholder, replaced before the first release of this layer
