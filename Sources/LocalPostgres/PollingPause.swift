import Dispatch

/// The pause between two checks of a condition that has no notification.
enum PollingPause {
    /// Ten milliseconds, even in a cancelled task: only the caller's deadline ends the wait.
    static func short() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.01) { continuation.resume() }
        }
    }
}
