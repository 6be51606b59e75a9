/// The answer to a request, and whether it is the answer to an earlier one.
package struct Replayable<Answer: Sendable>: Sendable {
    package let answer: Answer
    /// Whether the request was carried out before: this time it changed nothing.
    package let isReplay: Bool

    package init(_ answer: Answer, isReplay: Bool) {
        self.answer = answer
        self.isReplay = isReplay
    }
}
