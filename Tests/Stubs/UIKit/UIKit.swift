// What the sample of docs/guides/ios.md uses of Apple's UIKit, by its names and types (Apple, UIKit,
// "UIApplicationDelegate"), so that the sample is compiled where there is no iOS. Nothing of it does anything.

@_exported import Foundation

@MainActor
package protocol UIApplicationDelegate: AnyObject {
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
package final class UIApplication {
    package struct LaunchOptionsKey: Hashable, Sendable {}

    package func registerForRemoteNotifications() {}
}

package enum UIBackgroundFetchResult: Sendable {
    case newData, noData, failed
}
