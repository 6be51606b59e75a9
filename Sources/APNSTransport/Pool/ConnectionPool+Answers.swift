internal import HTTP2Engine

extension ConnectionPool {
    func responded(_ connection: PooledConnection, tag: UInt64, response: HTTP2Response) {
        hasHeard = true
        if connection.state.answered(status: response.status, now: .now) {
            growth.proved(after: connection.state.openingTime ?? .zero)
            lastFailure = nil
        }
        guard let (work, index) = table.find(tag), work.ledger.flight(index) != nil else {
            return
        }
        if let latency = work.arrived(index, response) {
            growth.answered(after: latency)
        }
        if response.status == 200 {
            work.accepted(index, response)
        } else {
            judge(response, work, index, connection)
        }
        finishIfComplete(work)
    }

    private func judge(
        _ response: HTTP2Response,
        _ work: Work,
        _ index: Int,
        _ connection: PooledConnection
    ) {
        let answer = APNSAnswer(work.head.kind, response)
        switch answer.advice {
        case .keep, .keepToken:
            break
        case .replace, .renewToken:
            // A connection that has used only the old token cannot be used with the new one.
            retire(connection, because: .answer(reason: answer.outcome.reason))
        case .replaceOld:
            if connection.state.opened.duration(to: .now) >= configuration.youth {
                retire(connection, because: .answer(reason: answer.outcome.reason))
            }
        }
        work.ledger.settle(index, answer.outcome)
        if answer.outcome.concernsWholeBatch {
            work.ledger.settleWaiting(
                PushOutcome(
                    answer.outcome.class,
                    reason: answer.outcome.reason,
                    detail: "not sent, because another push of its batch got this answer"
                )
            )
        }
    }

    func streamFailed(_ connection: PooledConnection, tag: UInt64, failure: HTTP2StreamFailure) {
        if failure == .refused {
            refused(connection)
        }
        guard let (work, index) = table.find(tag) else {
            return
        }
        switch failure {
        case .refused, .notProcessed:
            putBack(work, index)
        case .reset(let code):
            work.ledger.settle(index, PushOutcome(.unknown, detail: "the stream was reset with \(code)"))
        case .unusableResponse:
            work.ledger.settle(index, PushOutcome(.unknown, detail: "the answer was malformed or too large"))
        case .connectionLost:
            let cause = connection.retirementCause.map { " after \($0)" } ?? ""
            work.ledger.settle(index, PushOutcome(.unknown, detail: "the connection was lost\(cause)"))
        }
        finishIfComplete(work)
    }

    /// Handles a refused stream: pauses the connection, or replaces it.
    private func refused(_ connection: PooledConnection) {
        let now = ContinuousClock.now
        let pause = connection.state.refused(
            open: connection.openStreams,
            now: now,
            pause: configuration.refusalPause
        )
        if let pause {
            wake(at: pause, now: now)
        } else {
            retire(connection, because: .refusals)
        }
    }

    /// Streams have ended, by answers or because they were given up. Only an answer proves that the server is alive.
    func streamsFreed() {
        let now = ContinuousClock.now
        if hasHeard {
            hasHeard = false
            growth.heard(now: now)
        }
        pump(now: now)
    }
}
