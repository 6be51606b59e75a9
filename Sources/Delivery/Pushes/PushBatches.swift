import ActivityModel

/// The batches of one push queue that are on their way. Pure.
///
/// Few work at a time. A batch that only waits for answers gives its place to another one. An app with as many pushes
/// in such batches as it may have is silent: no more of its pushes leave until one of the batches ends.
struct PushBatches {
    private struct Batch {
        let apps: [BundleID: Int]
        var isLate = false
    }

    /// How many batches work at a time.
    static let mostAtWork = 4
    /// How many there are, with those that wait.
    static let most = 24
    /// How many pushes of an app may wait for answers, until it is silent.
    static let mostOfApp = 400

    private var batches: [Int: Batch] = [:]
    private var last = 0

    /// A batch begins, with the app of each of its pushes.
    ///
    /// - Returns: Its number.
    mutating func begin(_ apps: [BundleID]) -> Int {
        last += 1
        batches[last] = Batch(apps: apps.reduce(into: [:]) { $0[$1, default: 0] += 1 })
        return last
    }

    mutating func end(_ number: Int) { batches[number] = nil }

    /// A batch has only waited for a while; nothing if it has ended.
    mutating func isLate(_ number: Int) { batches[number]?.isLate = true }

    /// Whether no other batch may begin.
    var areFull: Bool {
        batches.count >= Self.most || batches.values.count { !$0.isLate } >= Self.mostAtWork
    }

    /// Whether a push that is due may have to wait until a batch comes on.
    var areHoldingUp: Bool { areFull || !silentApps.isEmpty }

    /// The apps that are to send nothing more for now.
    var silentApps: [BundleID] {
        var waiting: [BundleID: Int] = [:]
        for batch in batches.values where batch.isLate { waiting.merge(batch.apps, uniquingKeysWith: +) }
        return waiting.filter { $0.value >= Self.mostOfApp }.map(\.key).sorted { $0.rawValue < $1.rawValue }
    }
}
