/// The name of each error that a task can end with: Apple's names and numbers where those exist, and this runner's own.
package enum ErrorName: String, CaseIterable, Sendable {
    // NSURLErrorDomain
    case unknown, cancelled, badURL, timedOut, unsupportedURL, cannotFindHost, cannotConnectToHost
    case networkConnectionLost, dnsLookupFailed, httpTooManyRedirects = "tooManyRedirects", resourceUnavailable
    case notConnectedToInternet, redirectToNonExistentLocation, badServerResponse, userCancelledAuthentication
    case userAuthenticationRequired, zeroByteResource, cannotDecodeRawData, cannotDecodeContentData
    case cannotParseResponse, dataNotAllowed, requestBodyStreamExhausted, appTransportSecurityRequiresSecureConnection
    case fileDoesNotExist, fileIsDirectory, noPermissionsToReadFile, dataLengthExceedsMaximum
    case secureConnectionFailed, serverCertificateHasBadDate, serverCertificateUntrusted
    case serverCertificateHasUnknownRoot, serverCertificateNotYetValid, clientCertificateRejected
    case clientCertificateRequired, cannotLoadFromNetwork
    case cannotCreateFile, cannotOpenFile, cannotCloseFile, cannotWriteToFile, cannotRemoveFile, cannotMoveFile
    case backgroundSessionInUseByAnotherProcess, backgroundSessionWasDisconnected

    // This runner's own
    case unexpectedResponse, checksumMismatch, dependencyFailed, destinationExists, redirectRefused, lengthUnproven
    case secretBarred, cannotSign, noPermittedRoute, runCancelled, groupChanged, groupNotPublished, notEnoughDiskSpace
    case magicMismatch, unexpectedHTML, checksumNotFound, bodyFileChanged, bodyCommandFailed
    case uploadNotResumed, commandFailed, commandUnusable, captureNotFound, captureUnusable
    case serverCertificateWrongHost, serverKeyNotPinned, clientCertificateUnusable
    case cannotFindProxy, cannotConnectToProxy, proxyCertificateUntrusted, proxyAuthenticationRequired
    case proxyRefusedConnection, proxyCouldNotConnect, taskCrashedRunner
    case cannotWriteOutput, expansionFailed, nextPageUnusable
    case lockMismatch, notLocked, movedSincePlan, signatureMismatch, nameTaken, addressRefused

    /// Apple's number of the error; `nil` for this runner's own names.
    package var code: Int? {
        switch self {
        case .unknown: -1
        case .backgroundSessionInUseByAnotherProcess: -996
        case .backgroundSessionWasDisconnected: -997
        case .cancelled: -999
        case .badURL: -1000
        case .timedOut: -1001
        case .unsupportedURL: -1002
        case .cannotFindHost: -1003
        case .cannotConnectToHost: -1004
        case .networkConnectionLost: -1005
        case .dnsLookupFailed: -1006
        case .httpTooManyRedirects: -1007
        case .resourceUnavailable: -1008
        case .notConnectedToInternet: -1009
        case .redirectToNonExistentLocation: -1010
        case .badServerResponse: -1011
        case .userCancelledAuthentication: -1012
        case .userAuthenticationRequired: -1013
        case .zeroByteResource: -1014
        case .cannotDecodeRawData: -1015
        case .cannotDecodeContentData: -1016
        case .cannotParseResponse: -1017
        case .dataNotAllowed: -1020
        case .requestBodyStreamExhausted: -1021
        case .appTransportSecurityRequiresSecureConnection: -1022
        case .fileDoesNotExist: -1100
        case .fileIsDirectory: -1101
        case .noPermissionsToReadFile: -1102
        case .dataLengthExceedsMaximum: -1103
        case .secureConnectionFailed: -1200
        case .serverCertificateHasBadDate: -1201
        case .serverCertificateUntrusted: -1202
        case .serverCertificateHasUnknownRoot: -1203
        case .serverCertificateNotYetValid: -1204
        case .clientCertificateRejected: -1205
        case .clientCertificateRequired: -1206
        case .cannotLoadFromNetwork: -2000
        case .cannotCreateFile: -3000
        case .cannotOpenFile: -3001
        case .cannotCloseFile: -3002
        case .cannotWriteToFile: -3003
        case .cannotRemoveFile: -3004
        case .cannotMoveFile: -3005
        case .unexpectedResponse, .checksumMismatch, .dependencyFailed, .destinationExists, .redirectRefused,
            .lengthUnproven, .secretBarred, .cannotSign, .noPermittedRoute, .runCancelled, .groupChanged,
            .groupNotPublished, .notEnoughDiskSpace, .magicMismatch, .unexpectedHTML, .checksumNotFound,
            .bodyFileChanged, .bodyCommandFailed, .uploadNotResumed, .commandFailed, .commandUnusable,
            .captureNotFound, .captureUnusable, .expansionFailed, .nextPageUnusable, .serverCertificateWrongHost,
            .serverKeyNotPinned,
            .clientCertificateUnusable, .cannotFindProxy, .cannotConnectToProxy, .proxyCertificateUntrusted,
            .proxyAuthenticationRequired, .proxyRefusedConnection, .proxyCouldNotConnect, .taskCrashedRunner,
            .cannotWriteOutput, .lockMismatch, .notLocked, .movedSincePlan, .signatureMismatch,
            .nameTaken, .addressRefused:
            nil
        }
    }

    /// The error's domain in reports: `NSURLErrorDomain` for Apple's names, else `transfer-run`.
    package var domain: String { code == nil ? "transfer-run" : "NSURLErrorDomain" }

    /// What a user can do about the error: one sentence, for the report's `explanation` and the reference.
    package var whatHelps: String {
        switch self {
        case .cancelled, .runCancelled: "Run the job again."
        case .badURL: "Correct the URL in the job file."
        case .unsupportedURL: "Use http, https, ftp, file or data, or give the session a command for it in `protocols`."
        case .timedOut: "Raise the limit that the message names, or see whether the server answers at all."
        case .cannotFindHost, .dnsLookupFailed:
            "Check the spelling of the host's name; if it is right, check this machine's DNS."
        case .cannotConnectToHost:
            "Check that the server is running, that the port is right, and that no firewall blocks it."
        case .networkConnectionLost: "Run it again; the server or the network cut the connection."
        case .httpTooManyRedirects: "Raise `redirects.maximum`, or name the final URL."
        case .notConnectedToInternet, .dataNotAllowed, .noPermittedRoute:
            "Connect a permitted network, or set `waitsForConnectivity: true`."
        case .redirectRefused: "Name the final URL, loosen `redirects`, or take the answer with `onRefuse: accept`."
        case .badServerResponse, .cannotParseResponse: "Ask the server's operator: what it sent is not HTTP."
        case .cannotDecodeRawData, .cannotDecodeContentData:
            "Take the body as the server has it: no `decompress` for a download, else `http: { compression: false }`."
        case .requestBodyStreamExhausted: "Use a `file` body, which can be sent again."
        case .fileDoesNotExist: "Check the path, and `needs` if another task writes the file."
        case .fileIsDirectory: "Name a file, not a folder."
        case .noPermissionsToReadFile: "Give the user who runs the job the right to read the file."
        case .dataLengthExceedsMaximum:
            "Raise `maximumSize`, or make a data task a download; where a server says it, it takes no longer body."
        case .secureConnectionFailed: "Compare the TLS versions that the server and `tls` allow."
        case .serverCertificateHasBadDate, .serverCertificateNotYetValid: "Renew the certificate, or set the clock."
        case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot: "Name the issuer's file in `tls.trust.ca`."
        case .serverCertificateWrongHost: "Use the name that the certificate was made for, or have it made anew."
        case .serverKeyNotPinned: "If the server has a new key that you trust, write its pin in `tls.trust.pin`."
        case .clientCertificateRejected: "Ask the server's operator which certificates it takes, and since when."
        case .clientCertificateRequired: "Configure `tls.clientCertificates` for this host."
        case .clientCertificateUnusable: "Correct `certificate`, `key` and `password` in `tls.clientCertificates`."
        case .cannotFindProxy: "Check the proxy's name in `proxy` or the environment, and the machine's resolver."
        case .cannotConnectToProxy: "Check that the proxy is running, and that `proxy` names its port and kind."
        case .proxyCertificateUntrusted: "Name the issuer of the proxy's certificate in `tls.trust.ca`."
        case .proxyAuthenticationRequired:
            "Write user and password into the proxy's URL, or under `credentials` with `proxy: true`."
        case .proxyRefusedConnection: "Ask who runs the proxy to let this host through, or `bypass` the proxy for it."
        case .proxyCouldNotConnect: "The proxy does not reach the host: see whether the host runs."
        case .cannotOpenFile: "Name a regular file that can be read; what a command writes is a body's `stream`."
        case .cannotCreateFile:
            "Check that the folder of `to` can be made and written, and that `to` names a file."
        case .cannotMoveFile:
            "Check that the folder of `to` can be written, and that `to` names a file."
        case .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile:
            "Check that the disk works and that the folder of `to` can be written."
        case .cannotWriteOutput:
            "See that what reads standard output reads all of it, and that a file it goes to has room."
        case .unexpectedResponse: "Compare the response in the report with `expect`, and correct the one that is wrong."
        case .checksumMismatch:
            "If a new version was published, correct `checksum`; otherwise ask its publisher."
        case .lockMismatch:
            "Look at what changed; if it is welcome, lock it anew: `transfer-run lock JOB --update ID`."
        case .notLocked: "Lock the task: `transfer-run lock JOB --update ID`."
        case .movedSincePlan:
            "Look at what changed; if it is welcome, make the plan anew: `transfer-run plan JOB --online --save FILE`."
        case .magicMismatch: "See what the URL gives: it is another kind of file, or correct `expect.magic`."
        case .unexpectedHTML: "Open the URL in a browser: a login or error page stands where the file should be."
        case .signatureMismatch:
            "Do not use the file before its publisher explains this; nothing that the file lists was fetched."
        case .checksumNotFound: "Look into the checksum file, and write `entry` or `algorithm` as they stand there."
        case .captureNotFound:
            "Look at the response in the report, and let `capture` lead to one value there, of at most 64 KiB."
        case .captureUnusable: "See what was captured, and where it is put: it cannot stand there as it is."
        case .nextPageUnusable: "See what the last page names as the next one, and `next` in the job."
        case .expansionFailed: "See what was captured or brought for `forEach`: no task was made of it."
        case .bodyFileChanged: "Run it again when nobody writes to the file."
        case .bodyCommandFailed: "Run the command by itself and see what it says; `length` must be what it writes."
        case .uploadNotResumed: "See at the server what arrived; `retry.nonIdempotent: true` sends it anew by itself."
        case .commandFailed: "Run the command by hand with the request it was given; its last words are in the message."
        case .commandUnusable: "Correct the `command` of the session's `protocols`, and let it be executable."
        case .dependencyFailed: "Fix the task that it needs first; this one runs again with it."
        case .destinationExists: "Remove what is there, or set `existing` to `replace` or `revalidate`."
        case .nameTaken:
            "Name the file in `to`, or set `existing: replace`, which still spares every file that the job uses elsewhere."
        case .lengthUnproven: "Give a `checksum`, or set `requireLength: false`."
        case .addressRefused:
            "If that is where the job should connect, name the address in `addresses.allow` of the session."
        case .cannotSign: "Send the body as a file or as data."
        case .secretBarred: "Add the host to the secret's `hosts`, or do not send it there."
        case .groupChanged: "Run it again when nobody else writes into the group's folder."
        case .groupNotPublished:
            "Fix what the message names and run the job again; unless it says otherwise, the folder is as it was."
        case .notEnoughDiskSpace: "Make room on that file system, or choose another `to`."
        case .backgroundSessionInUseByAnotherProcess: "Use another `identifier`, or wait for the other job."
        case .taskCrashedRunner: "Run this task alone in the foreground, and report it with the job file."
        case .backgroundSessionWasDisconnected:
            "See at the server whether it came; if it did not, run the task again."
        case .resourceUnavailable: "Run it with another `cachePolicy` once, so that the cache has an answer."
        case .redirectToNonExistentLocation, .userCancelledAuthentication,
            .userAuthenticationRequired, .zeroByteResource, .appTransportSecurityRequiresSecureConnection,
            .cannotLoadFromNetwork, .unknown:
            "Read the message; it says what the server or the system answered."
        }
    }

    /// Whether the answer's content is the fault, so that an attempt which fetches other bytes may succeed.
    package var isOfContent: Bool {
        switch self {
        case .checksumMismatch, .magicMismatch, .unexpectedHTML, .unexpectedResponse, .captureNotFound, .lockMismatch,
            .movedSincePlan, .cannotDecodeRawData:
            true
        default: false
        }
    }

    /// Whether the same request may succeed later. Errors that cannot heal are not retried.
    package var canHeal: Bool {
        switch self {
        case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .notConnectedToInternet, .badServerResponse, .cannotParseResponse, .cannotLoadFromNetwork,
            .unknown, .noPermittedRoute, .cannotFindProxy, .cannotConnectToProxy,
            .proxyCouldNotConnect, .commandFailed:
            true
        default: false
        }
    }
}

/// Why an attempt or a task failed.
package struct TransferError: Error, Hashable, Sendable {
    /// The error's name, by which programs know it.
    package var name: ErrorName
    /// One plain sentence for people, without a secret's value.
    package var message: String
    /// libcurl's error number, where it reported the error; else `nil`.
    package var curl: Int32?
    /// The system's error number, where it was the cause; else `nil`.
    package var errno: Int32?
    /// Why the network may not be used; only of `dataNotAllowed`.
    package var reason: NetworkObjection?

    package init(
        _ name: ErrorName, _ message: String, curl: Int32? = nil, errno: Int32? = nil, reason: NetworkObjection? = nil
    ) {
        self.name = name
        self.message = message
        self.curl = curl
        self.errno = errno
        self.reason = reason
    }
}
