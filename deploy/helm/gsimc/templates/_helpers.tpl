{{- define "gsimc.name" -}}
{{- $name := printf "%s-gsimc" .Release.Name -}}
{{- if contains "gsimc" .Release.Name }}{{ $name = .Release.Name }}{{ end -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "gsimc.selector" -}}
app.kubernetes.io/name: gsimc
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gsimc.labels" -}}
{{ include "gsimc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gsimc.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "gsimc.name" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "gsimc.ports" -}}
- {name: grpc, port: 50051, targetPort: grpc, appProtocol: {{ if .Values.access.tlsSecret }}https{{ else }}kubernetes.io/h2c{{ end }}}
{{- if .Values.json.enabled }}
- {name: json, port: 8080, targetPort: json}
{{- end }}
{{- end }}
