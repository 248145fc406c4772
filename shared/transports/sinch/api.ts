import type { JsonApi, JsonApiSettings } from '../http/json-api.ts';
import { createJsonApi } from '../http/json-api.ts';

export interface SinchSettings extends JsonApiSettings { planId: string }

export interface SinchApi extends JsonApi {
  batchesUrl: () => URL;
  /** Report of one recipient, intermediate statuses included. */
  recipientReportUrl: (batchId: string, recipient: string) => URL;
  /** Report of a whole batch: needs no number, but tells final statuses only. */
  batchReportUrl: (batchId: string) => URL;
  inboundsUrl: (filter: { to: string; since: string; page: number; pageSize: number }) => URL;
  listUrl: (filter: { reference: string; since: string; page: number; pageSize: number }) => URL;
}

/** A number as the API writes it: digits, with or without a plus. */
export const digitsOf = (number: string): string => number.replace(/^\+/, '');

/** Addresses of the batches API (`/xms/v1`). */
export const createSinchApi = ({ planId, ...settings }: SinchSettings): SinchApi => {
  const api = createJsonApi(settings);
  const batches = `/xms/v1/${encodeURIComponent(planId)}/batches`;
  return {
    ...api,
    batchesUrl: () => api.url(batches),
    recipientReportUrl: (batchId, recipient) => api.url(`${batches}/${encodeURIComponent(batchId)}/delivery_report/${encodeURIComponent(digitsOf(recipient))}`),
    batchReportUrl: (batchId) => api.url(`${batches}/${encodeURIComponent(batchId)}/delivery_report?type=full`),
    inboundsUrl: ({ to, since, page, pageSize }) => {
      const url = api.url(`/xms/v1/${encodeURIComponent(planId)}/inbounds`);
      url.search = new URLSearchParams({ to: digitsOf(to), start_date: since, page: String(page), page_size: String(pageSize) }).toString();
      return url;
    },
    listUrl: ({ reference, since, page, pageSize }) => {
      const url = api.url(batches);
      url.search = new URLSearchParams({ client_reference: reference, start_date: since, page: String(page), page_size: String(pageSize) }).toString();
      return url;
    },
  };
};
