import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { appsQuery } from '../api/account/apps.ts'
import { listState } from '../api/client/list-state.ts'
import { type AppAction, AppsTable } from '../features/apps/apps-table.tsx'
import { McpSnippets } from '../features/apps/mcp-snippets.tsx'
import { APP_TEXT as TEXT } from '../messages/apps.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Card } from '../ui/layout/card.tsx'
import { Page } from '../ui/layout/page.tsx'

const dialogs = () => import('../features/apps/app-dialogs.tsx')
const DisconnectDialog = lazyPart(() => dialogs().then(({ DisconnectDialog }) => DisconnectDialog))
const LimitDialog = lazyPart(() => dialogs().then(({ LimitDialog }) => LimitDialog))

/** `/apps`: how to connect an agent, and the connected apps. */
export function Apps() {
  const apps = useQuery(appsQuery)
  const [act, setAct] = useState<AppAction | 'all' | null>(null)
  const rows = apps.data?.apps
  const close = () => setAct(null)
  const state = {
    rows,
    ...listState(apps),
  }
  return (
    <Page title={SHELL_TEXT.pagesOf.apps} lead={TEXT.lead}>
      <Card title={TEXT.mcp}>{apps.data && <McpSnippets url={apps.data.mcp_url} />}</Card>
      <Card
        title={TEXT.heading}
        flush
        aside={rows && rows.length > 0 && <Button onClick={() => setAct('all')}>{TEXT.disconnectAll}</Button>}
      >
        <AppsTable state={state} onAction={setAct} />
      </Card>
      {act === 'all' && <DisconnectDialog app={null} onClose={close} />}
      {act !== 'all' && act?.kind === 'disconnect' && <DisconnectDialog app={act.app} onClose={close} />}
      {act !== 'all' && act?.kind === 'limit' && <LimitDialog app={act.app} onClose={close} />}
    </Page>
  )
}
