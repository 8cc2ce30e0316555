import { expect } from 'bun:test'
import type { LlmContextInput } from '../../../server/core/catalog/llm-context'
import type { Harness } from '../../support/harness'
import { refusalOf, type WrongParameter } from '../wire'

/** The provider's input from a call of LLM context; the call must succeed and ask it once. */
export async function askedBy(gateway: Harness, call: () => Promise<Response>): Promise<LlmContextInput> {
  const before = gateway.context.asked.length
  const answer = await call()
  expect(`${answer.status} ${await answer.text()}`).toBe('200 {"fixture":true}')
  expect(answer.headers.get('x-cost-micros-usd')).toBe('5000')
  expect(gateway.context.asked).toHaveLength(before + 1)
  return gateway.context.asked[before] as LlmContextInput
}

/** The one wrong parameter of a call that must be refused, uncharged, before the provider is asked. */
export async function wrongIn(gateway: Harness, call: () => Promise<Response>): Promise<WrongParameter | undefined> {
  const before = gateway.context.asked.length
  const answer = await call()
  expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
  const refusal = await refusalOf(answer)
  expect(`${refusal.status} ${refusal.type}`).toBe('400 invalid_request_error')
  expect(gateway.context.asked).toHaveLength(before)
  expect(refusal.details).toHaveLength(1)
  expect(refusal.param).toBe(String(refusal.details?.[0]?.param))
  expect(refusal.code).toBe(String(refusal.details?.[0]?.code))
  return refusal.details?.[0]
}
