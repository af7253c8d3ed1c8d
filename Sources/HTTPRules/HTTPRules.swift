// The room HTTPRules.
