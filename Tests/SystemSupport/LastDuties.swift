import Synchronization

/// What has to be done before this process ends, if it is told to end in the middle of something.
package enum LastDuties {
    private struct State {
        var last = 0
        var duties: [Int: @Sendable () -> Void] = [:]
        var isOver = false
    }

    private static let state = Mutex(State())

    /// Adds a duty, which must not wait long.
    ///
    /// - Returns: What ``remove(_:)`` wants, once it has been done in another way.
    package static func add(_ duty: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.duties[state.last] = duty
            return state.last
        }
    }

    /// Whether this process is ending: what fails from now on says nothing.
    package static var isOver: Bool { state.withLock { $0.isOver } }

    package static func remove(_ number: Int) {
        state.withLock { _ = $0.duties.removeValue(forKey: number) }
    }

    /// Does them all, the newest first.
    package static func perform() {
        let duties = state.withLock { state in
            state.isOver = true
            defer { state.duties.removeAll() }
            return state.duties.sorted { $0.key > $1.key }.map(\.value)
        }
        for duty in duties { duty() }
    }
}
