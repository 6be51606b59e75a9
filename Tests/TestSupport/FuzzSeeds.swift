import Foundation

/// Which seeds the fuzz tests try: a few by default, others as `tools/fuzz` says.
package enum FuzzSeeds {
    package static let range: Range<UInt64> = {
        let settings = ProcessInfo.processInfo.environment
        let first = settings["TALLY_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        let rounds = settings["TALLY_FUZZ_ROUNDS"].flatMap { UInt64($0) } ?? 300
        return first..<(first + rounds)
    }()
}
