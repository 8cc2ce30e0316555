import { expect, test } from 'bun:test'
import { toolName } from '../../../server/core/apis/tool-name'

test('a tool is named after its operation, in 40 characters of a-z0-9_', () => {
  expect(toolName('weather.getForecast', new Set())).toBe('weather_getforecast')
  const long = toolName(`weather.${'x'.repeat(60)}`, new Set())
  expect(long).toMatch(/^[a-z0-9_]{33}_[0-9a-f]{6}$/)
  expect(toolName(`weather.${'x'.repeat(61)}`, new Set())).not.toBe(long)
  expect(toolName('.-', new Set())).toMatch(/^tool_[0-9a-f]{6}$/)
})

test('a name that another tool has is never reassigned', () => {
  const taken = new Set<string>()
  for (let i = 0; i < 50; i++) {
    const name = toolName('weather.a-b', taken)
    expect(taken.has(name)).toBe(false)
    expect(name).toMatch(/^[a-z0-9_]{1,40}$/)
    taken.add(name)
  }
})
