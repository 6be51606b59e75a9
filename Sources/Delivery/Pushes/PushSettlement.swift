import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import JSON
import Postgres
import Registry
import Store
import Waiting

/// The statements to write when pushes were answered. Settled pushes leave the table as events; the others are retried.
struct PushSettlement: Sendable {
    struct Result: Sendable {
        let push: QueuedPush
        /// Nil if it was not sent (``QueuedPush/lateRefusal``).
        let outcome: PushOutcome?

        /// The fate of the push.
        var fate: Fate {
            if let reason = push.lateRefusal { return .failed(reason: reason) }
            guard let outcome else { return .again }
            switch outcome.class.consequence {
            case .done: return .sent
            case .refused, .forget, .park: return .failed(reason: outcome.words)
            case .again: return .again
            }
        }
    }

    enum Fate: Equatable {
        case sent
        case failed(reason: String)
        case again
    }

    let results: [Result]
    let backoff: Backoff

    var statements: [Query] {
        var settled: [Int64] = []
        var events: [Event] = []
        var failures: [DeviceTokens.Failure] = []
        var again: [(key: Int64, delay: Duration)] = []
        for result in results {
            let push = result.push
            switch result.fate {
            case .again:
                again.append((push.key, backoff.delay(afterFailures: push.failures + 1)))
            case .sent, .failed:
                settled.append(push.key)
                events.append(event(result))
            }
            if let outcome = result.outcome, let deviceKey = push.deviceKey,
                let failure = DeviceTokens.Failure(
                    deviceKey: deviceKey,
                    in: push.environment,
                    token: push.token,
                    outcome.class.consequence
                )
            {
                failures.append(failure)
            }
        }
        var statements: [Query] = []
        // The devices before their pushes, as a deletion does.
        if !failures.isEmpty { statements.append(DeviceTokens.failed(failures)) }
        if !settled.isEmpty {
            // A transaction that holds the row of a push blocks the deletion of its device, and writes the event after
            // that. So no event of an erased device is left (``TimelineErasure``).
            statements.append(PushRows.deletion(of: settled))
            statements.append(EventRows.insertion(events))
        }
        if !again.isEmpty {
            statements.append(PushRows.again(again.map(\.key), after: again.map(\.delay)))
        }
        return statements
    }

    private func event(_ result: Result) -> Event {
        let push = result.push
        var detail: JSONObject = [
            "push_id": .string(push.id), "push_type": .string(push.pushType.rawValue),
            "apns_id": .string(push.apnsID.rawValue), "tries": .number(JSONNumber(push.failures + 1)),
        ]
        if case .failed(let reason) = result.fate { detail["reason"] = .string(reason) }
        return Event(
            result.fate == .sent ? .pushSent : .pushFailed,
            of: .app(push.app, push.environment, deviceKey: push.deviceKey),
            detail
        )
    }
}
