/// The scalars that a pattern accepts at one position.
struct ScalarSet: Sendable {
    /// In ascending order, without overlap.
    private let ranges: [ClosedRange<UInt32>]
    private let properties: [UnicodeProperty]
    private let isNegated: Bool
    /// One bit for every scalar below 128. Nearly every lookup is for one of them.
    private let ascii: (UInt64, UInt64)

    init(_ ranges: [ClosedRange<UInt32>] = [], properties: [UnicodeProperty] = [], isNegated: Bool = false) {
        self.ranges = Self.merged(ranges)
        self.properties = properties
        self.isNegated = isNegated
        var ascii: (UInt64, UInt64) = (0, 0)
        for value in UInt8(0)..<128 {
            let scalar = Unicode.Scalar(value)
            let isInside = Self.find(scalar, self.ranges, properties) != isNegated
            guard isInside else { continue }
            if value < 64 { ascii.0 |= 1 << UInt64(value) } else { ascii.1 |= 1 << UInt64(value - 64) }
        }
        self.ascii = ascii
    }

    init(_ scalar: Unicode.Scalar) { self.init([scalar.value...scalar.value]) }

    /// The union of these sets, or its complement.
    init(union sets: [ScalarSet], isNegated: Bool) {
        var ranges: [ClosedRange<UInt32>] = []
        var properties: [UnicodeProperty] = []
        for set in sets {
            if set.isNegated && !set.properties.isEmpty {
                properties.append(.outside(set))
            } else {
                ranges += set.isNegated ? Self.complement(of: set.ranges) : set.ranges
                properties += set.properties
            }
        }
        self.init(ranges, properties: properties, isNegated: isNegated)
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        let value = scalar.value
        if value < 64 { return ascii.0 >> UInt64(value) & 1 == 1 }
        if value < 128 { return ascii.1 >> UInt64(value - 64) & 1 == 1 }
        return Self.find(scalar, ranges, properties) != isNegated
    }

    /// The cost of a lookup of that scalar: non-ASCII scalars test the properties one after the other.
    func effort(for scalar: Unicode.Scalar) -> Int { scalar.isASCII ? 0 : properties.count }

    /// The complement of this set.
    var inverted: ScalarSet { ScalarSet(ranges, properties: properties, isNegated: !isNegated) }

    private static func find(
        _ scalar: Unicode.Scalar,
        _ ranges: [ClosedRange<UInt32>],
        _ properties: [UnicodeProperty]
    ) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
        }
        if low < ranges.count, ranges[low].contains(scalar.value) { return true }
        return properties.contains { $0.holds(scalar) }
    }

    private static func merged(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    private static func complement(of ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var complement: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges {
            if range.lowerBound > next { complement.append(next...range.lowerBound - 1) }
            next = range.upperBound + 1
        }
        if next <= 0x10FFFF { complement.append(next...0x10FFFF) }
        return complement
    }
}

/// The sets that have a letter escape in ECMA-262.
extension ScalarSet {
    static let digit = ScalarSet([0x30...0x39])
    static let word = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let lineEnd = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])
    /// WhiteSpace and LineTerminator.
    static let space = ScalarSet([
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ])
}
