internal import HTTP2Engine
internal import Logging

extension ConnectionPool {
    func open(now: ContinuousClock.Instant) {
        lastNumber = lastNumber == .max ? 1 : lastNumber + 1
        let connection = PooledConnection(number: lastNumber, pool: self, now: now)
        connections.append(connection)
        connection.connect(loop: loop, context: context, endpoint: key.endpoint, configuration: configuration)
        report(.opened)
    }

    func connectionOpened(_ connection: PooledConnection) {
        logger.debug("connected to APNs", metadata: ["apns.connection": "\(connection.number)"])
        pump()
    }

    /// Retires a connection: it accepts no more requests and closes after the open ones.
    func retire(_ connection: PooledConnection, because cause: RetirementCause) {
        let before = connection.state
        guard connection.retire(because: cause) else {
            return
        }
        if !cause.isLast {
            logger.info(
                "APNs connection is replaced",
                metadata: ["apns.connection": "\(connection.number)", "apns.reason": "\(cause)"]
            )
        }
        isGone(before, because: cause)
    }

    func connectionClosed(_ connection: PooledConnection, error: HTTP2Error?) {
        connections.removeAll { $0 === connection }
        let before = connection.state
        if before.phase != .draining {
            isGone(before, because: .lost(error))
        }
        if let error {
            logger.warning(
                "APNs connection ended",
                metadata: ["apns.connection": "\(connection.number)", "error": "\(error)"]
            )
            if before.phase == .connecting, connections.isEmpty, error.needsOperator {
                // No later attempt can succeed before this deadline, so the callers are informed at once.
                failWaiting(PushOutcome(.notSent, detail: "no connection: \(error)"))
            }
        }
        report(.closed)
        pump()
    }

    /// Called once for every connection, when it becomes unusable.
    private func isGone(_ state: ConnectionStateMachine, because cause: RetirementCause) {
        if !cause.isOurChoice {
            growth.lost(state, now: .now, chance: .random(in: 0...1))
            lastFailure = cause.description
        }
        report(.retired(cause))
    }

    private func failWaiting(_ outcome: PushOutcome) {
        for work in ready.all {
            fail(work, outcome)
        }
    }

    /// If there is no connection and the next attempt waits until `moment`, fails the work whose deadline is earlier.
    func failWaiting(until moment: ContinuousClock.Instant) {
        guard connections.allSatisfy({ $0.state.phase == .draining }) else {
            return
        }
        for work in ready.all where work.deadline <= moment {
            fail(work, PushOutcome(.notSent, detail: "no connection: \(lastFailure ?? "too many ended in a row")"))
        }
    }

    private func fail(_ work: Work, _ outcome: PushOutcome) {
        work.ledger.settleWaiting(outcome)
        finishSoon(work)
    }

    /// Called regularly: pings or closes idle connections. Returns whether the pool is still needed, for its
    /// connections or work, or for its record of failures. Without that record, a new pool would retry an unavailable
    /// server too fast.
    ///
    /// - `isAbandoned`: whether every app that used the pool has changed to another key.
    func tidy(isAbandoned: Bool, now: ContinuousClock.Instant) -> Bool {
        for connection in connections where connection.openStreams == 0 && connection.state.phase != .connecting {
            let isLast = connections.count { $0.state.phase != .draining } <= 1
            let isSurplus = growth.isSurplus(
                lastUse: connection.state.lastUse,
                isLast: isLast,
                isAbandoned: isAbandoned,
                now: now
            )
            if isSurplus {
                retire(connection, because: .idle)
            } else if connection.state.isPingDue(now: now, interval: configuration.pingInterval) {
                connection.ping(timeout: configuration.pingTimeout)
            }
        }
        return isBusy || !connections.isEmpty || growth.hasRecentFailure(now: now)
    }

    /// Closes all connections after their open requests have ended.
    func close() {
        for connection in connections {
            retire(connection, because: .shutDown)
        }
    }
}

extension HTTP2Error {
    /// Whether a retry is useless until an operator has checked certificates or hosts.
    fileprivate var needsOperator: Bool { code == .tls || code == .noHTTP2 }
}
