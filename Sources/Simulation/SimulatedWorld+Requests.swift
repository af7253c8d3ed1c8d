import Scheduling
import TransferModel

// The life of a request: sent, answered, its body moved.

extension SimulatedWorld {
    /// Sends the flight's request to the origin whose slot it holds.
    mutating func ask(_ place: Int) {
        guard let flight = flights[place], let origin = flight.origin else { return }
        let host = model.hosts[Int(origin.raw)]
        let drawn = fate(of: flight, at: host)
        var jitter = drawn.jitter
        if let from = host.crowdedFrom {
            jitter += Double(max(0, hosts[Int(origin.raw)].under + 1 - from)) * host.crowding
        }
        flights[place]?.fate = drawn.0
        flights[place]?.phase = .asking
        generations[place] &+= 1
        var delay = host.latency + TimeSpan(nanoseconds: Int64(Double(host.latency.nanoseconds) * jitter))
        delay = delay + takeConnection(place, origin, host)
        if case .silence = drawn.0 { delay = model.patience }
        calendar.put(.answer, place, generations[place], at: now + delay)
    }

    /// Takes a connection for the flight's request, and returns how long it takes to make one if none is free.
    private mutating func takeConnection(_ place: Int, _ origin: OriginID, _ host: WorldModel.Host) -> TimeSpan {
        let number = Int(origin.raw)
        hosts[number].under += 1
        flights[place]?.isTooMany = host.mostRequests.map { hosts[number].under > $0 } ?? false
        if host.version == .http2, hosts[number].under > 1 { return .zero }
        guard hosts[number].idle > 0 else { return host.connectTime }
        hosts[number].idle -= 1
        return .zero
    }

    /// Ends a request's use of its connection, which stays open if the server answered over it.
    mutating func leaveConnection(_ origin: OriginID, isKept: Bool) {
        let number = Int(origin.raw)
        // A recorded run is played without a model of its hosts.
        guard number < hosts.count else { return }
        hosts[number].under = max(0, hosts[number].under - 1)
        if isKept { hosts[number].idle += 1 }
    }

    /// Draws the outcome of a request, and the random part of its latency as a share of it.
    func fate(of flight: Flight, at host: WorldModel.Host) -> (Flight.Fate, jitter: Double) {
        var chance = Chance(seed: model.seed, Int(flight.task.raw), flight.attempt, flight.hop + 1)
        let jitter = Double(chance.below(1024)) / 1024 * host.spread
        let faults = host.faults
        if model.isBadPath(Int(flight.task.raw), at: host) { return (.hangUp, jitter) }
        var draw = Int(chance.below(1000))
        func hits(_ share: Int) -> Bool {
            draw -= share
            return draw < 0
        }
        if hits(faults.serverErrors) { return (.answer(status: 500, retryAfter: nil), jitter) }
        if hits(faults.missing) { return (.answer(status: 404, retryAfter: nil), jitter) }
        if hits(faults.tooMany) { return (.answer(status: 429, retryAfter: faults.retryAfter), jitter) }
        if hits(faults.unavailable) { return (.answer(status: 503, retryAfter: faults.retryAfter), jitter) }
        for status in faults.statuses where hits(status.share) {
            return (.answer(status: status.status, retryAfter: faults.retryAfter), jitter)
        }
        if hits(faults.cuts) {
            let rest = UInt64(max(0, flight.size - flight.received))
            return (.cut(after: Int64(chance.below(rest))), jitter)
        }
        if hits(faults.silences) { return (.silence, jitter) }
        if hits(faults.hangUps) { return (.hangUp, jitter) }
        if hits(faults.redirects), flight.hop < model.mostHops {
            return (.redirect(to: OriginID(raw: UInt32(chance.below(UInt64(model.hosts.count))))), jitter)
        }
        if hits(faults.doubts), host.version == .http2, !flight.isAlone, !flight.isUpload { return (.doubted, jitter) }
        return (.answer(status: 200, retryAfter: nil), jitter)
    }

    /// Handles the moment at which the head of the response arrives, or at which it is known that none will come.
    mutating func answered(_ place: Int) {
        guard script == nil else { return replayed(place) }
        guard let flight = flights[place], let origin = flight.origin else { return }
        if flight.parent != nil { return answeredBranch(place) }
        let host = model.hosts[Int(origin.raw)]
        let time = now - beganAt
        if let refusal = refusal(of: flight, at: origin) { return fail(place, refusal) }
        if model.isOut(at: time) { return fail(place, .cannotFindHost) }
        if host.refusals.contains(where: { $0.contains(time) }) { return fail(place, .cannotConnectToHost) }
        if case .silence = flight.fate { return fail(place, .timedOut) }
        if case .hangUp = flight.fate { return fail(place, .networkConnectionLost) }
        if flight.sendsFirst {
            if model.keepsUpload(Int(flight.task.raw)) { reports.append(.heard(flight.task)) }
            return moveOn(place)
        }
        if !hosts[Int(origin.raw)].hasToldVersion {
            hosts[Int(origin.raw)].hasToldVersion = true
            reports.append(.protocolIs(origin, host.version))
        }
        let (isOver, quota) = countRequest(origin, host)
        if isOver {
            let wait = host.quota.map { $0.window - TimeSpan(nanoseconds: time.nanoseconds % $0.window.nanoseconds) }
            return refuse(place, 429, quota, wait)
        }
        if host.overloads.contains(where: { $0.contains(time) }) || flight.isTooMany {
            return refuse(place, 503, quota, host.faults.retryAfter)
        }
        follow(place, flight, quota)
    }

    private mutating func follow(_ place: Int, _ flight: Flight, _ quota: RequestQuota?) {
        switch flight.fate {
        case .answer(200, _), .cut, .doubted:
            flights[place]?.status = 200
            reports.append(.answered(flight.task, Answer(status: 200, quota: quota)))
            if !flight.isUpload, putsOff(place) { return }
            offerSegments(place)
            moveOn(place)
        case .answer(let status, let retryAfter): refuse(place, status, quota, retryAfter)
        case .redirect(let next):
            flights[place]?.status = 302
            flights[place]?.hop += 1
            reports.append(.answered(flight.task, Answer(status: 302, quota: quota)))
            askAgain(place, at: next)
        case .silence: fail(place, .timedOut)
        case .hangUp: fail(place, .networkConnectionLost)
        }
    }

    /// Gives the slot back and requests one for the flight's next request.
    private mutating func askAgain(_ place: Int, at origin: OriginID) {
        guard let flight = flights[place] else { return }
        release(place)
        flights[place]?.phase = .awaitingGrant
        flights[place]?.origin = origin
        reports.append(.needsGrant(flight.task, origin, isAlone: flight.isAlone))
    }

    /// Counts a request against the host's quota. Returns whether it exceeds the quota, and what the response says of
    /// it.
    mutating func countRequest(
        _ origin: OriginID, _ host: WorldModel.Host
    ) -> (isOver: Bool, told: RequestQuota?) {
        guard let quota = host.quota else { return (false, nil) }
        let number = Int(origin.raw)
        let time = (now - beganAt).nanoseconds
        let window = time / quota.window.nanoseconds
        if window != hosts[number].window {
            hosts[number].window = window
            hosts[number].requests = 0
        }
        hosts[number].requests += 1
        guard quota.isTold else { return (hosts[number].requests > quota.limit, nil) }
        let told = RequestQuota(
            remaining: max(0, quota.limit - hosts[number].requests),
            resetsAfter: TimeSpan(nanoseconds: (window + 1) * quota.window.nanoseconds - time),
            limit: quota.tellsPolicy ? quota.limit : nil, window: quota.tellsPolicy ? quota.window : nil)
        return (hosts[number].requests > quota.limit, told)
    }

    /// Ends the flight with a response that the task does not expect.
    private mutating func refuse(_ place: Int, _ status: Int, _ quota: RequestQuota?, _ retryAfter: TimeSpan?) {
        guard let flight = flights[place] else { return }
        flights[place]?.status = status
        reports.append(.answered(flight.task, Answer(status: status, quota: quota)))
        end(
            place,
            Verdict(
                .failed(TransferError(.unexpectedResponse, "the server answered \(status)")), status: status,
                retryAfter: retryAfter, sentSomething: true))
    }

    /// Ends the flight because its connection failed, before a response or within one.
    mutating func fail(_ place: Int, _ name: ErrorName) {
        let message = flights[place]?.status == nil ? "no connection" : "the connection was lost"
        fail(place, TransferError(name, message))
    }

    mutating func fail(_ place: Int, _ error: TransferError, lostNetwork: Bool = false) {
        stopMoving(place)
        guard let flight = flights[place] else { return }
        if flight.parent != nil { return endBranch(place, .failed) }
        if flight.received > 0 { partials[flight.task] = flight.received }
        var verdict = Verdict(.failed(error), status: flight.status, sentSomething: flight.status != nil)
        verdict.lostNetwork = lostNetwork
        verdict.wentFurther = !flight.isWhole && !flight.isUpload && flight.received > flight.resumedFrom
        end(place, verdict)
    }

    // MARK: Bodies

    /// Moves the next part of the body, as far as credit allows; finishes the body if nothing is left of it.
    mutating func moveOn(_ place: Int) {
        guard var flight = flights[place], let origin = flight.origin else { return }
        var left = flight.size - flight.received
        if case .cut(let after) = flight.fate {
            left = min(left, after)
            if left <= 0 { return fail(place, .networkConnectionLost) }
        }
        guard left > 0 else { return flight.parent == nil ? wholeBody(place, origin) : endBranch(place, .done) }
        let number = Int(origin.raw)
        // A host without a bandwidth limit moves the whole rest at once, which takes no time.
        flight.segment = hosts[number].share == nil ? left : min(left, model.reportEvery)
        let purse = flight.parent ?? place
        if let credit = flights[purse]?.credit {
            guard credit > 0 else {
                flights[place]?.phase = .starved
                return
            }
            flight.segment = min(flight.segment, max(credit, model.readAtOnce))
            flights[purse]?.credit = credit - flight.segment
            if purse == place { flight.credit = credit - flight.segment }
        }
        flight.phase = .moving
        generations[place] &+= 1
        if hosts[number].share == nil {
            flights[place] = flight
            finishSegment(place)
        } else {
            flight.segmentStart =
                hosts[number].share?.add(place, generations[place], bytes: flight.segment, at: now) ?? 0
            flights[place] = flight
            plan(bodies: number)
        }
    }

    /// Finishes the parts of a host's transfers that have received their share by now.
    mutating func moveBodies(_ host: Int, _ generation: UInt32) {
        guard hosts[host].share?.generation == generation else { return }
        while let place = takeDone(host) { finishSegment(place) }
        plan(bodies: host)
    }

    private mutating func takeDone(_ host: Int) -> Int? {
        let generations = generations
        return hosts[host].share?.takeDone(at: now) { generations[$0] != $1 }
    }

    private mutating func plan(bodies host: Int) {
        let generations = generations
        guard let due = hosts[host].share?.next(isVoid: { generations[$0] != $1 }),
            let generation = hosts[host].share?.generation
        else { return }
        calendar.put(.body, host, generation, at: max(now, due))
    }

    private mutating func finishSegment(_ place: Int) {
        guard let flight = flights[place] else { return }
        // The flight has left the host's share: what follows must not remove it once more.
        flights[place]?.phase = .asking
        move(place, flight.segment)
        if case .cut(let after) = flight.fate { flights[place]?.fate = .cut(after: after - flight.segment) }
        moveOn(place)
    }

    private mutating func move(_ place: Int, _ bytes: Int64) {
        guard let flight = flights[place], bytes > 0 else { return }
        flights[place]?.received += bytes
        flights[place]?.segment = 0
        noteSent(place, flight, bytes)
        reports.append(.moved(flight.task, bytes: bytes))
    }

    /// Takes a flight out of its host's share and counts the bytes of the current part that have moved.
    mutating func stopMoving(_ place: Int) {
        guard let flight = flights[place], flight.phase == .moving, let origin = flight.origin else { return }
        let number = Int(origin.raw)
        let reading = hosts[number].share?.reading(at: now) ?? 0
        generations[place] &+= 1
        hosts[number].share?.remove(at: now)
        flights[place]?.phase = .asking
        let moved = min(flight.segment, max(0, Int64(reading - flight.segmentStart)))
        let purse = flight.parent ?? place
        if let credit = flights[purse]?.credit { flights[purse]?.credit = credit + flight.segment - moved }
        move(place, moved)
        plan(bodies: number)
    }

    // MARK: After the last byte

    private mutating func wholeBody(_ place: Int, _ origin: OriginID) {
        if flights[place]?.awaitsFirstAnswer == true { return awaitAnswer(place, model.hosts[Int(origin.raw)]) }
        guard case .doubted? = flights[place]?.fate else { return gather(place) }
        flights[place]?.isAlone = true
        flights[place]?.received = 0
        flights[place]?.hop += 1
        askAgain(place, at: origin)
    }

    mutating func deliver(_ place: Int) {
        guard let flight = flights[place] else { return }
        release(place)
        reports.append(.transferred(flight.task))
        guard model.deliveryTime > .zero else { return delivered(place) }
        flights[place]?.phase = .delivering
        generations[place] &+= 1
        calendar.put(.delivered, place, generations[place], at: now + model.deliveryTime)
    }

    mutating func delivered(_ place: Int) {
        end(place, Verdict(.succeeded, status: flights[place]?.status))
    }
}
