package recommend

import (
	"context"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// GetSpectrum implements RecommenderService. State and query are those of a list.
func (s *Service) GetSpectrum(
	ctx context.Context, req *pb.GetSpectrumRequest,
) (*pb.GetSpectrumResponse, error) {
	list, now := spectrumList(req), s.Now()
	if err := valid.Recommend(list, now); err != nil {
		return nil, err
	}
	m := s.Arms.Of(req.GetUserId()).Acquire()
	defer m.Release()
	sc := s.takeScratch(m)
	resp, err := s.spectrum(ctx, m.Model, list, now, sc)
	giveScratch(sc)
	return resp, err
}

// spectrum makes the answer.
func (s *Service) spectrum(
	ctx context.Context, m *model.Model, list *pb.RecommendRequest, now time.Time, sc *scratch,
) (*pb.GetSpectrumResponse, error) {
	subj, err := s.subject(ctx, m, list, now, sc)
	if err != nil {
		return nil, err
	}
	l := &sc.list
	l.Items, l.UserRevision = m, subj.version.Revision
	noteUnknownEntries(m, list.GetHistory().GetEntries(), l)
	noteUnknownEntries(m, list.GetExtraHistory().GetEntries(), l)
	l.Degradations = appendDegradations(l.Degradations, m, subj, false)
	message := l.Message()
	r := &pb.GetSpectrumResponse{ModelVersion: message.GetModelVersion(),
		UserRevision: message.GetUserRevision(), UnknownItemIds: message.GetUnknownItemIds(),
		Degradations: message.GetDegradations()}
	if subj.known && subj.usable {
		x := m.Spectrum(subj.tail.Events, sc.query, s.Estimator)
		// The answer is written when the model may be closed.
		r.Frequencies, r.Before, r.After = slices.Clone(m.Lambda()), x.Before, x.After
	}
	return r, nil
}

// spectrumList is the list that the spectrum is of. Its explanation takes the events.
func spectrumList(req *pb.GetSpectrumRequest) *pb.RecommendRequest {
	list := &pb.RecommendRequest{ExtraHistory: req.GetExtraHistory(), Explain: 1}
	switch subject := req.GetSubject().(type) {
	case *pb.GetSpectrumRequest_UserId:
		list.Subject = &pb.RecommendRequest_UserId{UserId: subject.UserId}
	case *pb.GetSpectrumRequest_History:
		list.Subject = &pb.RecommendRequest_History{History: subject.History}
	}
	return list
}
