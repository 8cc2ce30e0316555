import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Glob } from 'bun'

const DASHBOARD = join(import.meta.dir, '..', '..', 'dashboard', 'src')
/** Constructs that would let the theme decide more than a colour: Tailwind's variant, a media query, or an attribute in a selector. */
const BY_THEME = /\bdark:[\w[!-]|prefers-color-scheme|\[data-theme[^{]*\{[^}]*\}/g
/** How the person's choice goes before the system's. Every colour is then one `light-dark`. */
const CHOICE = /^\[data-theme="(light|dark)"\] \{\s*color-scheme: \1;\s*\}$/

test('the theme of the dashboard decides nothing but colours, so browser tests draw a page once at each width', async () => {
  const found: string[] = []
  for await (const file of new Glob('**/*.{css,ts,tsx}').scan(DASHBOARD))
    for (const [text] of (await Bun.file(join(DASHBOARD, file)).text()).matchAll(BY_THEME))
      found.push(`${file}: ${text}`)
  const choices = found.filter((line) => CHOICE.test(line.slice(line.indexOf(': ') + 2)))
  expect(choices).toHaveLength(2)
  expect(found).toEqual(choices)
})
