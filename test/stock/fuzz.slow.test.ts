import { test } from 'node:test'

import { withstands } from './fuzzing.ts'

test('20 000 requests that chance makes: the server never fails', (t) => withstands(t, 20_000))
