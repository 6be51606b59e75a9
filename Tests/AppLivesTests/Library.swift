import TestSupport
@testable import TallyKit

/// What runs in the app of a life: events in, actions out.
protocol Library {
    mutating func handle(_ event: PhoneEvent, at now: Moment) -> [Action]
    /// What it stores.
    var kept: Kept { get }
    /// Whether it keeps the app awake for reports that have no answer.
    var isBusy: Bool { get }
}

/// What an app has stored.
enum Kept: Hashable, Sendable {
    case memory(Memory)
    case common(CommonPractice.Stored)

    var deviceID: String {
        switch self {
        case .memory(let memory): memory.deviceID
        case .common(let stored): stored.deviceID
        }
    }

    /// Whether it says that the app ends a card.
    func ends(_ card: String) -> Bool {
        if case .memory(let memory) = self { memory.cards[card]?.endedByApp != nil } else { false }
    }
}

/// The libraries that lives are played with.
enum LibraryKind: String, Sendable, CaseIterable {
    case tallyKit = "TallyKit"
    case commonPractice = "common practice"

    /// Whether its reports carry a generation and an installation.
    var numbersReports: Bool { self == .tallyKit }

    func make(from kept: Kept?, vendor: String?, seed: UInt64) -> any Library {
        switch self {
        case .tallyKit:
            let memory: Memory? = if case .memory(let memory) = kept { memory } else { nil }
            return TallyKitApp(Machine(memory: memory, vendor: vendor, random: SeededRandom(seed: seed)))
        case .commonPractice:
            let stored: CommonPractice.Stored? = if case .common(let stored) = kept { stored } else { nil }
            return CommonPractice(stored, seed: seed)
        }
    }
}

/// TallyKit's machine.
struct TallyKitApp: Library {
    private var machine: Machine

    init(_ machine: Machine) { self.machine = machine }

    mutating func handle(_ event: PhoneEvent, at now: Moment) -> [Action] {
        machine.handle(event, at: now)
    }

    var kept: Kept { .memory(machine.memory) }
    var isBusy: Bool { machine.isBusy }
}
