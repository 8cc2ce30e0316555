import { useMutation, useQueryClient } from '@tanstack/react-query'
import { toast } from '../../ui/feedback/toast.ts'

/** Changes members, tells of it, and closes the dialog. */
export function useMemberChange<T = void>(change: (to: T) => Promise<unknown>, said: string, onClose: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => {
      void toast(said)
      onClose()
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['members'] }),
  })
}
