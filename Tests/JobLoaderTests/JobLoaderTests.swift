// Tests of JobLoaderTests.
