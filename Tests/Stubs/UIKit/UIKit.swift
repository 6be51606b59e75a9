// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents them.

// What TallyKit and the sample app use of Apple's UIKit, by its names and types (Apple, UIKit, "UIApplicationDelegate"), so
// that they are compiled where there is no iOS. Nothing of it does anything.

@_exported public import Foundation

@MainActor
public protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)

    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}

@MainActor
public final class UIApplication {
    public struct LaunchOptionsKey: Hashable, Sendable {}

    public static let shared = UIApplication()
    public nonisolated static var willEnterForegroundNotification: Notification.Name { .init("foreground") }
    public nonisolated static var didBecomeActiveNotification: Notification.Name { .init("active") }
    public nonisolated static var didEnterBackgroundNotification: Notification.Name { .init("background") }
    public nonisolated static var protectedDataDidBecomeAvailableNotification: Notification.Name { .init("unlocked") }

    public func registerForRemoteNotifications() {}

    public func beginBackgroundTask(
        withName taskName: String?,
        expirationHandler handler: (@MainActor @Sendable () -> Void)?
    ) -> UIBackgroundTaskIdentifier { .invalid }

    public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}

public struct UIBackgroundTaskIdentifier: Hashable, Sendable {
    public static let invalid = UIBackgroundTaskIdentifier()
}

public enum UIBackgroundFetchResult: Sendable {
    case newData, noData, failed
}

@MainActor
public final class UIDevice {
    public static let current = UIDevice()
    public var systemVersion: String { "18.1" }
    public var identifierForVendor: UUID? { nil }
}
