// Tests of YAMLTreeTests.
