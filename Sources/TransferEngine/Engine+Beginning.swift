import AttemptLife
import FileDelivery
package import TransferModel

/// An attempt that began.
package struct AttemptBeginning: Hashable, Sendable {
    package let task: TaskIndex
    package let number: Int
}

// What comes before an attempt's first request.

extension Engine {
    /// What must not be sent twice is sent when it is certain that whoever goes on with the run knows of it.
    func beginWhenKept(_ attempt: Attempt) {
        guard keptFirst.contains(attempt.task) else { return examineOld(attempt) }
        attempt.phase = .awaitingRecord
        unkept.append(AttemptBeginning(task: attempt.task, number: attempt.number))
    }

    /// Those that began since, and wait for that.
    package func takeUnkept() -> [AttemptBeginning] {
        defer { unkept.removeAll(keepingCapacity: true) }
        return unkept
    }

    package func kept(_ beginnings: [AttemptBeginning]) {
        for beginning in beginnings where awaitsRecord(beginning.task) {
            guard let attempt = attempt(of: beginning.task), attempt.number == beginning.number else { continue }
            examineOld(attempt)
        }
    }

    /// Nothing of it was sent.
    package func awaitsRecord(_ task: TaskIndex) -> Bool {
        guard case .awaitingRecord? = attempt(of: task)?.phase else { return false }
        return true
    }

    /// What stands at the destination may make the request needless.
    private func examineOld(_ attempt: Attempt) {
        let specification = attempt.specification
        if recallsUpload(attempt) { return }
        guard specification.type == .download, mustInspect(specification) else {
            return recall(attempt, attempt.life.request.url)
        }
        attempt.phase = .inspecting
        let checksum: Checksum? =
            if case .literal(let literal) = specification.options.values.checksum { literal } else { nil }
        outbox.add(
            .inspect(
                .init(
                    attempt.task, path: specification.destination ?? "", checksum, member: member(specification),
                    exceptSince: ownFileMayBeThere(attempt))))
    }
}
