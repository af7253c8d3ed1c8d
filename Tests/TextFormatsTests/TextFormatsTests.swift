// Tests of TextFormatsTests.
