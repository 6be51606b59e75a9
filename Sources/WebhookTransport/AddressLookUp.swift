import Foundation
import Reactor
import Synchronization

/// Looks names up on threads of their own. A caller that is cancelled does not wait for the name servers.
enum AddressLookUp {
    typealias Answer = Result<[SocketAddress], ReactorError>

    /// The addresses of a host, at least one.
    @Sendable static func addresses(of host: String) async throws -> [SocketAddress] {
        let line = Line()
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                line.wait(continuation)
                // A thread of its own, because a silent name server blocks it for long.
                Thread.detachNewThread {
                    do throws(ReactorError) {
                        line.answer(.success(try AddressResolver.addresses(of: host)))
                    } catch {
                        line.answer(.failure(error))
                    }
                }
            }
        } onCancel: {
            line.answer(nil)
        }
        guard let answer else { throw CancellationError() }
        return try answer.get()
    }

    /// Gives the first answer to the caller, whichever comes first: the caller, the answer or the cancellation.
    private final class Line: Sendable {
        private enum State {
            case empty
            case waiting(CheckedContinuation<Answer?, Never>)
            case answered(Answer?)
        }

        private let state = Mutex(State.empty)

        func wait(_ continuation: CheckedContinuation<Answer?, Never>) {
            let early: Answer?? = state.withLock { state in
                if case .answered(let answer) = state { return .some(answer) }
                state = .waiting(continuation)
                return .none
            }
            if let early { continuation.resume(returning: early) }
        }

        func answer(_ answer: Answer?) {
            let caller: CheckedContinuation<Answer?, Never>? = state.withLock { state in
                defer { if case .answered = state {} else { state = .answered(answer) } }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            caller?.resume(returning: answer)
        }
    }
}
