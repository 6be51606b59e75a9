import ActivityModel
import Testing

@Suite("Which version of a type a device decodes")
struct TypeVersionsTests {
    /// Versions by their least app versions ("" for every app), a retired one with a dash before it.
    private func versions(_ texts: String...) -> TypeVersions {
        TypeVersions(
            texts.enumerated().map { index, text in
                let least = text.hasPrefix("-") ? String(text.dropFirst()) : text
                return .init(index + 1, minAppVersion: AppVersion(least), isRetired: text.hasPrefix("-"))
            }
        )
    }

    @Test(
        "The newest version that the app understands; the oldest for an app that is older than all",
        arguments: [
            ("1.0", 1), ("1.9.9", 1), ("2.0", 2), ("2", 2), ("2.0.1", 2), ("2.10", 3), ("2.9", 2), ("11", 3),
            ("0.1", 1),
        ]
    )
    func resolution(app: String, version: Int) {
        #expect(versions("", "2.0", "2.10").version(ofApp: AppVersion(app)) == version)
        #expect(versions("0.5", "2.0", "2.10").version(ofApp: AppVersion(app)) == version)
    }

    @Test("An app that does not say its version counts as the oldest that is not retired")
    func unknown() {
        #expect(versions("", "2.0", "3.0").version(ofApp: nil) == 1)
        #expect(versions("-", "2.0", "3.0").version(ofApp: nil) == 2)
        #expect(versions("-", "-2.0", "3.0").version(ofApp: nil) == 3)
        // Retiring a version changes nothing about what an app decodes.
        #expect(versions("-", "2.0").version(ofApp: AppVersion("1.0")) == 1)
    }

    @Test("A version that a newer one for the same apps has replaced is nobody's any more")
    func replaced() {
        #expect(versions("", "").current == [2])
        #expect(versions("", "").version(ofApp: nil) == 2)
        #expect(versions("", "2.0", "2.0").current == [1, 3])
        #expect(versions("", "2.0", "1.5").current == [1, 3])
        #expect(versions("", "2.0", "1.5").version(ofApp: AppVersion("2.1")) == 3)
        #expect(versions("1.0", "2.0", "").current == [3])
        #expect(versions("1.0", "1.0.0").current == [2])
    }

    @Test("A channel counts as every version that is not retired")
    func current() {
        #expect(versions("", "2.0", "3.0").current == [1, 2, 3])
        #expect(versions("", "-2.0", "3.0").current == [1, 3])
        #expect(versions("", "-2.0", "3.0").reachable == [1, 2, 3])
        #expect(versions("", "-2.0").isRetired(2))
        #expect(!versions("", "-2.0").isRetired(1))
    }

    @Test(
        "A new version takes the place of those for the same apps",
        arguments: [("1.0", true), ("2.0", true), ("2.0.1", false), ("", true)]
    )
    func replacing(least: String, isReplaced: Bool) {
        let three = versions("1.0", "2.0").adding(minAppVersion: AppVersion(least))
        #expect(three.newest == 3)
        #expect(three.reachable.contains(2) != isReplaced)
        let two = versions("").adding(minAppVersion: AppVersion(least))
        #expect(two.reachable == (least.isEmpty ? [2] : [1, 2]))
    }
}
