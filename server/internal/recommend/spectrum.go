package recommend

import (
	"context"
	"slices"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
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
	l := s.take(m, list, now)
	resp, err := l.spectrum(ctx)
	l.give()
	return resp, err
}

// spectrum makes the answer.
func (l *list) spectrum(ctx context.Context) (*pb.GetSpectrumResponse, error) {
	if err := l.findSubject(ctx); err != nil {
		return nil, err
	}
	l.noteUnknown()
	l.degrade(false)
	message := l.out.Message()
	r := &pb.GetSpectrumResponse{ModelVersion: message.GetModelVersion(),
		UserRevision: message.GetUserRevision(), UnknownItemIds: message.GetUnknownItemIds(),
		Degradations: message.GetDegradations()}
	if l.known && l.usable {
		x := l.Spectrum(l.tail.Events, l.query, l.s.Estimator)
		// The answer is written when the model may be closed.
		r.Frequencies, r.Before, r.After = slices.Clone(l.Lambda()), x.Before, x.After
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
