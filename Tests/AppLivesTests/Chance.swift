import TestSupport

/// What is left to chance in a life.
///
/// Never put a kind between others: its place is part of every draw.
enum Chance: Int {
    case firstUser, step, stepPhone, time, clock
    // What people and backends do.
    case activity, ownCard, swipe, user, install, endOwnCard, deathAfter
    // What iOS does.
    case silentStreams, properties, librarySeed, launch, suspension, stream, cardToken, tokenRotation, endByApp
    // What networks, Tally and Apple do.
    case ticket, report, answer, handOver, push, inbox
    // What cards show: changes by backends, their pushes and streams.
    case content
    // What iOS does, too.
    case beginning
}

/// The draws of a life.
///
/// Each is made of the seed, the phone, the kind, and how many of this kind the phone has had. So one report more shifts no
/// draws but those of later reports: a change of the library leaves people, backends and iOS as they were.
struct Dice {
    private struct Place: Hashable {
        let kind: Int
        let phone: Int
    }

    private let seed: UInt64
    private var counts: [Place: UInt64] = [:]

    init(seed: UInt64) { self.seed = seed }

    /// The chance of one event, however many numbers it needs. Phone nil: it is about the world.
    mutating func next(_ kind: Chance, _ phone: Int?) -> SeededRandom {
        let place = Place(kind: kind.rawValue, phone: phone ?? -1)
        counts[place, default: 0] += 1
        var mixed = seed
        for part in [UInt64(place.kind), UInt64(place.phone + 1), counts[place] ?? 0] {
            var random = SeededRandom(seed: mixed ^ (part &* 0xD6E8_FEB8_6659_FD93))
            mixed = random.next()
        }
        return SeededRandom(seed: mixed)
    }
}

extension Life {
    /// Whether something of so many percent happens.
    func chance(_ percent: Int, _ kind: Chance, _ phone: Int? = nil) -> Bool {
        var random = dice.next(kind, phone)
        return random.hits(percent)
    }

    /// A fault that may come only while faults are on. It is drawn in any case.
    func fault(_ percent: Int, _ kind: Chance, _ phone: Int? = nil) -> Bool {
        chance(percent, kind, phone) && areFaultsOn
    }

    func seconds(_ range: ClosedRange<Double>, _ kind: Chance, _ phone: Int? = nil) -> Double {
        var random = dice.next(kind, phone)
        return .random(in: range, using: &random)
    }

    /// A long time in so many percent of cases, but only while faults are on; else a short one.
    func seconds(
        _ short: ClosedRange<Double>,
        or long: ClosedRange<Double>,
        percent: Int,
        _ kind: Chance,
        _ phone: Int? = nil
    ) -> Double {
        var random = dice.next(kind, phone)
        return .random(in: random.hits(percent) && areFaultsOn ? long : short, using: &random)
    }

    func pick<Element>(_ elements: [Element], _ kind: Chance, _ phone: Int? = nil) -> Element? {
        var random = dice.next(kind, phone)
        return elements.randomElement(using: &random)
    }
}

extension SeededRandom {
    mutating func hits(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
