import TransferModel

// Uploads, and bodies that do not begin because `limits.maximumBytes` leaves too little for them.

extension SimulatedWorld {
    /// Ends the flight if its body cannot be resumed and does not fit into what `limits.maximumBytes` leaves. Returns
    /// whether it did.
    mutating func putsOff(_ place: Int) -> Bool {
        guard let flight = flights[place], flight.isWhole, flight.size > 0, let answer = ask(for: flight),
            let error = budget?.refusal(answer, of: "the body", length: flight.size)
        else { return false }
        let isForNextRun = answer == .forNextRun
        var verdict = Verdict(
            isForNextRun ? .cancelled(error) : .failed(error), status: flight.status,
            sentSomething: flight.status != nil)
        verdict.isForNextRun = isForNextRun
        end(place, verdict)
        return true
    }

    private mutating func ask(for flight: Flight) -> ByteBudget.Answer? {
        budget?.ask(flight.task, length: flight.size)
    }

    /// Counts moved bytes against `limits.maximumBytes`, and reports that an upload's body is sent completely. Called
    /// before `moved` is reported: these bytes may be the last ones allowed.
    mutating func noteSent(_ place: Int, _ flight: Flight, _ bytes: Int64) {
        budget?.moved(flight.task, bytes)
        guard budget != nil, flight.awaitsFirstAnswer, flight.received + bytes == flight.size else { return }
        reports.append(.sentBody(flight.task))
    }

    /// Schedules the response to an upload whose body was sent completely.
    mutating func awaitAnswer(_ place: Int, _ host: WorldModel.Host) {
        flights[place]?.phase = .asking
        generations[place] &+= 1
        calendar.put(.answer, place, generations[place], at: now + host.latency)
    }
}

extension Flight {
    var awaitsFirstAnswer: Bool { isUpload && parent == nil && status == nil }

    /// Whether the flight sends its body before it is answered. A request that is refused at once gets none.
    var sendsFirst: Bool {
        guard awaitsFirstAnswer, received < size else { return false }
        switch fate {
        case .answer(200, _), .cut, .redirect: return true
        case .answer, .doubted, .silence, .hangUp: return false
        }
    }
}
