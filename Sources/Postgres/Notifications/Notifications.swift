import LibPQ
import Logging

/// The notifications of some channels, over a dedicated connection outside of the pool.
///
/// The iterating task makes the connection and repairs it, so nothing runs without an iteration. The sequence ends when
/// that task is cancelled. After a shutdown of the database it ends within the keep-alive interval.
package struct Notifications: AsyncSequence, Sendable {
    package typealias Element = NotificationEvent
    package typealias Failure = Never

    let database: Database
    let channels: [String]

    package func makeAsyncIterator() -> Iterator {
        Iterator(database: database, channels: channels)
    }

    /// One listener.
    package struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        private let channels: [String]
        private var session: Session?
        private var messages: ArraySlice<NotificationMessage> = []
        private var failures: ConnectFailures

        fileprivate init(database: Database, channels: [String]) {
            self.database = database
            self.channels = channels
            failures = ConnectFailures(longestPause: database.configuration.maximumBackOff)
        }

        package mutating func next(isolation: isolated (any Actor)?) async -> NotificationEvent? {
            while !Task.isCancelled, !database.pool.isShutDown {
                if let message = messages.popFirst() {
                    return .notification(channel: message.channel, payload: message.payload)
                }
                guard let session else {
                    if await connect() { return .listening }
                    continue
                }
                await receive(session)
            }
            return nil
        }

        private mutating func connect() async -> Bool {
            do {
                let pause = failures.pause
                if pause > .zero { try await Task.sleep(for: pause) }
                let deadline = ContinuousClock.now + database.configuration.acquireTimeout
                let session = try await database.makeSession(until: deadline)
                let listen = channels.map { Statement(sql: "LISTEN \(Query.quoted(identifier: $0))") }
                _ = try await session.run(listen, until: deadline)
                self.session = session
                failures.succeeded()
                return true
            } catch {
                failures.failed()
                database.logger.log(
                    level: failures.count == 1 && !Task.isCancelled ? .warning : .debug,
                    "cannot listen for notifications",
                    metadata: ["postgres.error": "\(error)"]
                )
                return false
            }
        }

        private mutating func receive(_ session: Session) async {
            let interval = database.configuration.keepAliveInterval
            do {
                messages = try await session.notifications(until: .now + interval)[...]
                guard messages.isEmpty else { return }
                // No notification for a while may mean that the server is gone.
                let deadline = ContinuousClock.now + database.configuration.connectTimeout
                _ = try await session.run([Statement(sql: "SELECT 1")], until: deadline)
            } catch {
                database.logger.debug("listening interrupted", metadata: ["postgres.error": "\(error)"])
                session.close()
                self.session = nil
            }
        }
    }
}

extension Database {
    /// Listens to channels. The first event is ``NotificationEvent/listening``, which is repeated after each
    /// interruption.
    package func notifications(channels: [String]) -> Notifications {
        Notifications(database: self, channels: channels)
    }
}
