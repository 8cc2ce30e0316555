import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { OPERATOR_EVENTS, OWNER_EVENTS } from '../../../../server/core/webhooks/event.ts'
import { accountQuery } from '../../api/account/account.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { changeNoticeMails, type NoticeMails, noticeMailQuery } from '../../api/notices.ts'
import { NOTICE_TEXT as TEXT } from '../../messages/notices.ts'
import { Button } from '../../ui/button.tsx'
import { Failed, FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Choices } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** A sign-in from a new browser always has a mail of its own. */
const CHOICES = OWNER_EVENTS.filter((kind) => kind !== 'sign_in.new_device')

/** Which notices are mailed. Nothing where the gateway sends no email. */
export function NoticeMailCard() {
  const mails = useQuery(noticeMailQuery)
  const account = useQuery(accountQuery).data
  if (mails.error && !mails.data)
    return (
      <Card title={TEXT.mail.title} flush>
        <Failed failure={toApiFailure(mails.error)} onRetry={() => void mails.refetch()} />
      </Card>
    )
  if (!mails.data?.sends_mail || !account) return null
  return (
    <Card title={TEXT.mail.title}>
      <NoticeMailForm key={mails.data.kinds.join()} isOperator={account.operator} {...mails.data} />
    </Card>
  )
}

function NoticeMailForm({ kinds, weekly_summary: isSummarized, isOperator }: NoticeMails & { isOperator: boolean }) {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<NoticeMails['kinds']>(kinds)
  const [summary, setSummary] = useState(isSummarized)
  const saving = useMutation({
    mutationFn: changeNoticeMails,
    onSuccess: (saved) => {
      queries.setQueryData(noticeMailQuery.queryKey, saved)
      void toast(TEXT.mail.saved)
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (!saving.isPending) saving.mutate({ kinds: chosen, weekly_summary: summary })
  }
  return (
    <form onSubmit={submit} className="grid gap-4">
      <Choices legend={TEXT.mail.legend} hint={TEXT.mail.hint}>
        <div className="grid gap-2 sm:grid-cols-2">
          {[...CHOICES, ...(isOperator ? OPERATOR_EVENTS : [])].map((kind) => (
            <Choice
              key={kind}
              type="checkbox"
              label={TEXT.events[kind] ?? kind}
              checked={chosen.includes(kind)}
              onChange={({ target }) =>
                setChosen(target.checked ? [...chosen, kind] : chosen.filter((one) => one !== kind))
              }
            />
          ))}
        </div>
      </Choices>
      <Choice
        type="checkbox"
        label={TEXT.mail.weekly}
        checked={summary}
        onChange={({ target }) => setSummary(target.checked)}
      />
      <FormFailure failure={failureFrom(saving)} />
      <Button type="submit" busy={saving.isPending} className="justify-self-start">
        {TEXT.mail.save}
      </Button>
    </form>
  )
}
