import TransferModel

// Bodies that are sent, and bodies that do not begin because too few bytes are left of the run.

extension SimulatedWorld {
    /// Whether the flight ends here: no part of its body is worth anything, and `limits.maximumBytes` cuts it.
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

    /// Before anybody hears that bytes moved: those may have been the last ones that may.
    mutating func noteSent(_ place: Int, _ flight: Flight, _ bytes: Int64) {
        budget?.moved(flight.task, bytes)
        guard budget != nil, flight.awaitsFirstAnswer, flight.received + bytes == flight.size else { return }
        reports.append(.sentBody(flight.task))
    }

    /// All of the body was sent.
    mutating func awaitAnswer(_ place: Int, _ host: WorldModel.Host) {
        flights[place]?.phase = .asking
        generations[place] &+= 1
        calendar.put(.answer, place, generations[place], at: now + host.latency)
    }
}

extension Flight {
    var awaitsFirstAnswer: Bool { isUpload && parent == nil && status == nil }

    /// What is answered at once, and not well, is sent nothing.
    var sendsFirst: Bool {
        guard awaitsFirstAnswer, received < size else { return false }
        switch fate {
        case .answer(200, _), .cut, .redirect: return true
        case .answer, .doubted, .silence, .hangUp: return false
        }
    }
}
