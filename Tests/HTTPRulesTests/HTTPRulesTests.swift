// Tests of HTTPRulesTests.
