/// The versions of an activity type, and which of them a device decodes. Senders use it to choose a device's schema.
///
/// A newer version for the same apps supersedes an older one. The rest are steps: each newer version needs a newer app.
package struct TypeVersions: Sendable, Hashable {
    /// The parts of a version that matter here.
    package struct Version: Sendable, Hashable {
        /// Counts the versions of the type, from 1.
        package let number: Int
        /// The oldest app version that understands it; `nil`: every one.
        package let minAppVersion: AppVersion?
        /// Whether an operator has given up the phones that decode only this version. They no longer cause content to
        /// be refused.
        package let isRetired: Bool

        package init(_ number: Int, minAppVersion: AppVersion? = nil, isRetired: Bool = false) {
            self.number = number
            self.minAppVersion = minAppVersion
            self.isRetired = isRetired
        }
    }

    /// The versions that some app version decodes, oldest first.
    private let steps: [Version]
    /// The newest version of the type.
    package let newest: Int
    /// The versions that content must satisfy if its readers are unknown, as on a channel. These are the ``reachable``
    /// ones that are not retired, oldest first.
    package let current: [Int]
    /// The numbers of the versions that some app version decodes, oldest first.
    package let reachable: [Int]

    /// `versions` are all versions of a type in the order of their numbers; at least one.
    package init(_ versions: [Version]) {
        var steps: [Version] = []
        for version in versions.reversed() {
            guard let next = steps.last else {
                steps.append(version)
                continue
            }
            guard let taken = next.minAppVersion else { break }
            if version.minAppVersion.map({ $0 < taken }) ?? true { steps.append(version) }
        }
        self.steps = steps.reversed()
        newest = versions.last?.number ?? 0
        current = self.steps.filter { !$0.isRetired }.map(\.number)
        reachable = self.steps.map(\.number)
    }

    /// Whether the version is retired. If so, Tally withholds content that its phones cannot decode. Otherwise
    /// it refuses such content.
    package func isRetired(_ number: Int) -> Bool { steps.contains { $0.number == number && $0.isRetired } }

    /// The versions after one more has been added as the newest. A version that no app decodes any more is not
    /// ``reachable``.
    package func adding(minAppVersion: AppVersion?) -> TypeVersions {
        TypeVersions(steps + [Version(newest + 1, minAppVersion: minAppVersion)])
    }

    /// The version that an app decodes: the newest that it understands, or the oldest if the app is older than all of
    /// them. An app of unknown version gets the oldest that is not retired.
    package func version(ofApp appVersion: AppVersion?) -> Int {
        guard let appVersion else { return current.first ?? newest }
        let understood = steps.last { step in step.minAppVersion.map { $0 <= appVersion } ?? true }
        return (understood ?? steps.first)?.number ?? newest
    }
}
