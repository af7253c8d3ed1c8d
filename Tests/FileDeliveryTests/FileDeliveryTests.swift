// Tests of FileDeliveryTests.
