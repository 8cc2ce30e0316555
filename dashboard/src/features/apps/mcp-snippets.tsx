import { useState } from 'react'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { Tabs } from '../../ui/layout/tabs.tsx'

const AGENTS = [
  { value: 'claude', text: 'Claude Code' },
  { value: 'codex', text: 'Codex' },
  { value: 'vscode', text: 'VS Code' },
  { value: 'cursor', text: 'Cursor' },
] as const

type Agent = (typeof AGENTS)[number]['value']

/** The MCP address to copy, and the settings for well-known agents. */
export function McpSnippets({ url }: { url: string }) {
  const [agent, setAgent] = useState<Agent>('claude')
  return (
    <div className="grid gap-5">
      <p className="text-muted">{TEXT.mcpText}</p>
      <CodeBlock label={TEXT.mcpAddress} code={url} copyLabel={TEXT.copy} />
      <Tabs label={TEXT.agent} tabs={AGENTS} chosen={agent} onChoose={setAgent}>
        <CodeBlock
          label={AGENTS.find(({ value }) => value === agent)?.text ?? ''}
          code={snippet(agent, url)}
          copyLabel={TEXT.copy}
        />
      </Tabs>
    </div>
  )
}

function snippet(agent: Agent, url: string): string {
  switch (agent) {
    case 'claude':
      return `claude mcp add --transport http gateway ${url}`
    case 'codex':
      return `codex mcp add gateway --url ${url}\ncodex mcp login gateway`
    case 'vscode':
      return JSON.stringify({ servers: { gateway: { type: 'http', url } } }, null, 2)
    // The OAuth server rejects this agent's redirect URL, so it uses an API key.
    case 'cursor':
      return JSON.stringify(
        { mcpServers: { gateway: { url, headers: { Authorization: `Bearer \${env:GATEWAY_API_KEY}` } } } },
        null,
        2,
      )
  }
}
