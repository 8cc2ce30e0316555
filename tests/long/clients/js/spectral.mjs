// The linter Spectral, with its rules for OpenAPI, on the gateway's document.
import core from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { holds, ORIGIN, runCalls } from './first-calls.mjs'

const spectral = new core.Spectral()
// Which address to write to is for each operator to say.
spectral.setRuleset({ extends: [rulesets.oas], rules: { 'info-contact': 'off' } })

await runCalls({
  async 'no errors or warnings by its rules for OpenAPI'() {
    const faulty = '{"openapi":"3.1.0","info":{"title":"A","version":"1"},"paths":{"/a":{"get":{}}}}'
    holds((await spectral.run(faulty)).length > 0, 'it sees no faults at all')
    const problems = await spectral.run(await (await fetch(`${ORIGIN}/openapi.json`)).text())
    holds(problems.length === 0, problems.map(({ code, path }) => `${code} at ${path.join('/')}`).join('; '))
  },
})
