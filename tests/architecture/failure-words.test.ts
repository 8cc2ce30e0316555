import { expect, test } from 'bun:test'
import type { FailureCode } from '../../server/core/failure'
import { FAILURES } from '../../server/http/middleware/response/failures'
import { STATUS_OF_BROKEN } from '../../server/pipeline/sale'

test('a stream that fails after its headers is logged with the status that the contract gives its code', () => {
  const codes = Object.keys(STATUS_OF_BROKEN).filter((code): code is FailureCode => Object.hasOwn(FAILURES, code))
  expect(codes.length).toBe(3)
  for (const code of codes) expect(STATUS_OF_BROKEN[code], code).toBe(FAILURES[code].status)
})
