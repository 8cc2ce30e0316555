import { describe, expect, test } from 'bun:test'
import { axisMarks } from '../../dashboard/src/ui/charts/axis'
import { costUsd, shortCount } from '../../dashboard/src/ui/format/money'

const CENTS = 1_000

describe('the marks of a chart', () => {
  test.each([
    ['three micro-dollars', 3, CENTS, ['$0.00', '$0.001']],
    ['no spend', 0, CENTS, ['$0.00', '$0.001']],
    ['a third of a dollar', 312_645, CENTS, ['$0.00', '$0.10', '$0.20', '$0.30', '$0.40']],
    ['twelve dollars', 12_000_000, CENTS, ['$0.00', '$5.00', '$10.00', '$15.00']],
  ])('of %s are round amounts', (_what, max, leastStep, marks) => {
    expect(axisMarks(max, leastStep).map(costUsd)).toEqual(marks)
  })

  test.each([
    [1, ['0', '1']],
    [3, ['0', '1', '2', '3']],
    [490, ['0', '200', '400', '600']],
    [10_000, ['0', '5,000', '10,000']],
    [4_400_000, ['0', '2M', '4M', '6M']],
  ])('of %d requests are whole', (max, marks) => {
    expect(axisMarks(max, 1).map(shortCount)).toEqual(marks)
  })
})
