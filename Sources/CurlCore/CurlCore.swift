// The room CurlCore.
