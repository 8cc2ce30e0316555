import { describe, expect, test } from 'bun:test'
import { citedSources, plannedQueries, questionQueries } from '../../../server/pipeline/research/research-prompts'

describe('the searches of a research call', () => {
  test('are the lines of a plan, each once, without those already made', () => {
    const plan = 'Sure!\nQUERY: "otters sleep"\n2. QUERY: Otters Sleep\n- QUERY: otters eat?\nQUERY: otters swim'
    expect(plannedQueries(plan, 2, [])).toEqual(['otters sleep', 'otters eat'])
    expect(plannedQueries(plan, 5, ['OTTERS EAT'])).toEqual(['otters sleep', 'otters swim'])
    expect(plannedQueries('The text that I was given does not say.', 5, [])).toEqual([])
  })

  test('are the question itself if there is no plan: searched once, and its parts', () => {
    expect(questionQueries('How do I declare relations?', 3)).toEqual(['How do I declare relations'])
    expect(questionQueries('How do otters sleep and what do they eat?', 3)).toEqual([
      'How do otters sleep and what do they eat',
      'How do otters sleep',
      'what do they eat',
    ])
  })
})

describe('citations', () => {
  test('are the existing sources that the answer names', () => {
    const source = (number: number) => ({ number, title: `t${number}`, url: `u${number}`, snippets: [] })
    const cited = citedSources('A [2], B [1][2], C [7].', [source(1), source(2), source(3)])
    expect(cited.map(({ number }) => number)).toEqual([1, 2])
  })
})
