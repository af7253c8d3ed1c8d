// The room FileDelivery.
