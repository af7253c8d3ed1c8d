/// What `minisign` 0.11 made of a checksum file: keys and signatures with known results.
package enum MinisignSample {
    /// The signed file: the MD5 of `abc`, whose name is `a`.
    package static let sums = "900150983cd24fb0d6963f7d28e17f72  a\n"
    /// The public key that signed, `minisign -P`.
    package static let key = "RWT6rvc5pXmUVVPImYWR7Wjwr0Xh3/UJsd6XCxyLICXi79V7znnrOG0g"
    /// Its id as `minisign` prints it.
    package static let keyID = "559479A539F7AEFA"
    /// The file `minisign.pub` of that key.
    package static let keyFile = "untrusted comment: minisign public key 559479A539F7AEFA\n\(key)\n"
    /// The secret half, without a password (`minisign -G -W`).
    package static let secretKeyFile = """
        untrusted comment: transfer-run tests
        RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+q73OaV5lFUpBp7Ct7vYsbapW7+tsP0hJVfz\
        uDBpJLL+6XA04R9YglPImYWR7Wjwr0Xh3/UJsd6XCxyLICXi79V7znnrOG0gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=

        """
    /// Another public key, and its id.
    package static let otherKey = "RWRSHlP3HfWP38kFMvK8Z064cHqASkqt3kccIk8PH+s9NBVJ9VvsDn2J"
    package static let otherKeyID = "DF8FF51DF7531E52"

    /// `minisign -S`: of the file's digest.
    package static let prehashed = """
        untrusted comment: signature from minisign secret key
        RUT6rvc5pXmUVT/SA4our3FnF0lvTL52ZO1yLGHNodxCHo8KmJyjrUKapceT1oyNMiPHDD7A/fvozLvNWkZflOJcXojM7pchtgs=
        trusted comment: release 1
        xamBZiTwKpsxFr2CSZ74gxg94TQ2wh1UGaNA/wvGZ9L9RGzaKd4pW7G3CQjf8rdU1Sw7lB+3VOezxq6Gcy40Dg==

        """
    /// `minisign -S -l`: of the file itself.
    package static let plain = """
        untrusted comment: signature from minisign secret key
        RWT6rvc5pXmUVfX40x61X2b8051CvJamak+kzQ+2TZJs4fYO8gwl2NyujbZg6Pv/gq+TWw5BnUgfUrCAQ32nMx4zkA7y4SzPzA4=
        trusted comment: release 1
        fngbRuPbdYphDZ+owE+xU/rHRXokVboRUSlgykbCUOOb++B4Gu8stWZrFv5wWTvN3rgfG19xbKUlTn6dFileAw==

        """
    /// A signature of the same file by the other key.
    package static let byAnother = """
        untrusted comment: signature from minisign secret key
        RURSHlP3HfWP3ys+Utavni7ousafBEQDGsi895w3zQlvQEabtOPhR2J6yqtKMdypNFsvwZlXNW5qu7MRVL5+qHPrVR+NTxn++QQ=
        trusted comment: timestamp:1795875599\tfile:SUMS\thashed
        PETAof6s0uFOR01VIaWTeg0UsClbO88G7oL8EOFOQGS/Bnqi75yLE/FoSqKef76LQkskj3a74ea1BocNj7iNBg==

        """
}
