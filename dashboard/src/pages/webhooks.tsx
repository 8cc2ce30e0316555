import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useMay } from '../api/account/account.ts'
import { toApiFailure } from '../api/client/failure.ts'
import { listState } from '../api/client/list-state.ts'
import { changeWebhook, testWebhook, type Webhook, webhooksQuery } from '../api/webhooks.ts'
import { type WebhookAction, WebhooksTable } from '../features/webhooks/webhooks-table.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { WEBHOOK_TEXT as TEXT } from '../messages/webhooks.ts'
import { Button } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { toast } from '../ui/feedback/toast.ts'
import { BareCard } from '../ui/layout/card.tsx'
import { Page } from '../ui/layout/page.tsx'

const dialogs = () => import('../features/webhooks/webhook-dialogs.tsx')
const CreateDialog = lazyPart(() => dialogs().then(({ CreateDialog }) => CreateDialog))
const ConfirmCodeDialog = lazyPart(() => dialogs().then(({ ConfirmCodeDialog }) => ConfirmCodeDialog))
const RotateDialog = lazyPart(() => dialogs().then(({ RotateDialog }) => RotateDialog))
const RemoveDialog = lazyPart(() => dialogs().then(({ RemoveDialog }) => RemoveDialog))
const DeliveriesDialog = lazyPart(() =>
  import('../features/webhooks/deliveries-dialog.tsx').then(({ DeliveriesDialog }) => DeliveriesDialog),
)

interface OpenDialog {
  readonly kind: 'confirm' | 'log' | 'rotate' | 'remove'
  readonly webhook: Webhook
}

/** `/webhooks`: the endpoints that receive events, and what was sent to them. */
export function Webhooks() {
  const webhooks = useQuery(webhooksQuery)
  const [open, setOpen] = useState<OpenDialog | 'create' | null>(null)
  const acting = useAct()
  const mayWrite = useMay('settings:write')
  const onAction = (action: WebhookAction, webhook: Webhook) => {
    if (action === 'test' || action === 'toggle') acting.mutate({ action, webhook })
    else setOpen({ kind: action, webhook })
  }
  const close = () => setOpen(null)
  return (
    <Page
      title={SHELL_TEXT.pagesOf.webhooks}
      lead={TEXT.lead}
      actions={
        mayWrite && (
          <Button tone="primary" onClick={() => setOpen('create')}>
            <Plus size={16} aria-hidden />
            {TEXT.add}
          </Button>
        )
      }
    >
      <BareCard>
        <WebhooksTable state={{ rows: webhooks.data?.webhooks, ...listState(webhooks) }} onAction={onAction} />
      </BareCard>
      {open === 'create' && <CreateDialog onClose={close} />}
      {open !== 'create' && open?.kind === 'confirm' && <ConfirmCodeDialog webhook={open.webhook} onClose={close} />}
      {open !== 'create' && open?.kind === 'rotate' && <RotateDialog webhook={open.webhook} onClose={close} />}
      {open !== 'create' && open?.kind === 'remove' && <RemoveDialog webhook={open.webhook} onClose={close} />}
      {open !== 'create' && open?.kind === 'log' && <DeliveriesDialog webhook={open.webhook} onClose={close} />}
    </Page>
  )
}

function useAct() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ action, webhook }: { action: 'test' | 'toggle'; webhook: Webhook }) => {
      if (action === 'toggle') await changeWebhook(webhook.id, webhook.status === 'paused' ? 'active' : 'paused')
      else {
        await testWebhook(webhook.id)
        void toast(TEXT.tested)
      }
    },
    onError: (error: unknown) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
}
