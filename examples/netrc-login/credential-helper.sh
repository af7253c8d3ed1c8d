#!/bin/sh
# Answers `get` with a user and a password, as `git credential-…` does. `store` and `erase` say whether they were right.
[ "$1" = get ] && printf 'username=robot\npassword=open-sesame\n'
exit 0
