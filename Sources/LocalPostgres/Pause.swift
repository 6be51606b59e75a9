import Dispatch

/// The pause between two looks at something that tells nobody when it changes.
enum Pause {
    /// Ten milliseconds, also in a cancelled task: the deadline of the caller is what ends the waiting.
    static func short() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.01) { continuation.resume() }
        }
    }
}
