import { expect, test } from 'bun:test'
import { OpenCalls } from '../../server/pipeline/open-calls'

test('all who wait for the calls to end learn of it, also if one of them aborts what is left', async () => {
  const calls = new OpenCalls()
  const call = {
    breakOff: async () => calls.delete(call),
  }
  calls.add(call)
  const patient = calls.ended(60_000)
  await calls.ended(0)
  await patient
  expect(calls.count).toBe(0)
})
