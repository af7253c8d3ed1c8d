extension TransferError {
    /// What a user can do about just this one. An error that one of several limits brings about names it in its message.
    package func whatHelps(_ type: TaskType?) -> String {
        switch name {
        case .timedOut: timeOutAdvice
        case .dataLengthExceedsMaximum: lengthAdvice(type)
        // Else it is somebody's place in this very run.
        case .destinationExists where !message.hasSuffix("is there already"):
            "Give the task a `to` of its own, or `needs` where it is to be another's."
        case .unexpectedResponse where message.contains(" answered 407: it wants to know who asks"):
            ErrorName.proxyAuthenticationRequired.whatHelps
        case .proxyAuthenticationRequired where message.contains("wants a client certificate"):
            "Use a proxy that asks for none: `tls.clientCertificates` are for servers."
        case .proxyCouldNotConnect where message.contains("asks to come again later"):
            "Run it again later, or with fewer connections at once."
        case .badServerResponse where message.contains("without asking for the body"):
            "Leave out `expectContinue`: the server does not know what it means."
        // It would be cancelled again.
        case .cancelled where message.contains("a rule of `onResponse`"):
            "Change that rule if such an answer is welcome."
        case .cancelled where message.contains("a rule of `challenges`"):
            "Change that rule, or the trust that is asked for."
        default: name.whatHelps
        }
    }

    private var timeOutAdvice: String {
        if message.contains("`timeoutForRequest`") {
            return "Raise `timeoutForRequest`, or see whether the server answers at all."
        }
        if message.contains("`minimumRate`") {
            return "Lower `minimumRate`, or use another server or network."
        }
        if message.contains("`timeoutForResource`") {
            return "Raise `timeoutForResource`, or see in the report what its attempts and waits took so long for."
        }
        if message.contains("`limits.timeout`") {
            return "Raise `limits.timeout`, or run the job again for what is left."
        }
        let who = message.hasPrefix("the proxy ") ? "proxy" : "host"
        return "Raise `connectTimeout`, or see whether the \(who) answers at all."
    }

    private func lengthAdvice(_ type: TaskType?) -> String {
        if message.contains("`limits.maximumBytes`") {
            return "Raise `limits.maximumBytes`: what cannot go on where it is cut must fit into one run."
        }
        if message.contains("unpacks to more than") { return ErrorName.cannotDecodeContentData.whatHelps }
        guard message.contains("`maximumSize`") else { return "Ask who runs the server for more, or send less." }
        return switch type {
        case .upload?: "Make it a `data` task: that sends a `body` too, and its `maximumSize` can be raised."
        case .download?: "Raise `maximumSize`."
        case .data?, nil: "Raise `maximumSize`, or make it a download."
        }
    }
}
